"""Addresses of the job page and of what its scripts fetch."""

from django.urls import path

from webui.views import job, run_files

urlpatterns = [
    path("jobs/<int:job_id>/", job.job_detail, name="job-detail"),
    path("jobs/<int:job_id>/header/", job.job_header, name="job-header"),
    path("jobs/<int:job_id>/stop/", job.job_stop, name="job-stop"),
    path("jobs/<int:job_id>/again/", job.job_again, name="job-again"),
    path("runs/<int:run_id>/files/<path:name>", run_files.run_file, name="run-file"),
    path("runs/<int:run_id>/series/<slug:key>/", run_files.run_series, name="run-series"),
]
