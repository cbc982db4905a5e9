from django.urls import path

from jobs.consumers import JobsConsumer, RunConsumer

websocket_urlpatterns = [
    path("ws/runs/<int:run_id>/", RunConsumer.as_asgi()),
    path("ws/jobs/", JobsConsumer.as_asgi()),
]
