"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from webui.api import api
from webui.views import fits, history, new_job, site, tables

handler500 = "webui.failures.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="job-list"), name="home"),
    path("login/", LoginView.as_view(template_name="webui/login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("jobs/", history.job_list, name="job-list"),
    path("jobs/new/", new_job.JobNew.as_view(), name="job-new"),
    path("jobs/check/", new_job.job_check, name="job-check"),
    path("jobs/<int:job_id>/row/", history.job_row, name="job-row"),
    path("", include("webui.views.job_urls")),
    path("fits/", fits.fits, name="fits"),
    path("", include("webui.views.dataset_urls")),
    path("tables/", tables.table_list, name="table-list"),
    path("tables/<slug:slug>/", tables.table_list, name="table-rows"),
    path("engine-banner/", site.engine_banner, name="engine-banner"),
    path("healthz", site.healthz, name="healthz"),
    path("metrics", site.metrics, name="metrics"),
    path("robots.txt", site.robots, name="robots"),
    path("api/", api.urls),
    path("admin/", admin.site.urls),
]
