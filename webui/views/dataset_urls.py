"""Addresses of datasets, their reports and rows, and of uploads."""

from django.urls import path

from webui.views import assets, datasets, uploads

urlpatterns = [
    path("datasets/", assets.dataset_list, name="dataset-list"),
    path("datasets/<int:dataset_id>/", datasets.dataset_detail, name="dataset"),
    path("datasets/<int:dataset_id>/remove/", datasets.dataset_remove, name="dataset-remove"),
    path("datasets/<int:dataset_id>/inspect/", datasets.dataset_inspect, name="dataset-inspect"),
    path("datasets/<int:dataset_id>/rows/<int:row>/", datasets.dataset_row, name="dataset-row"),
    path(
        "datasets/<int:dataset_id>/reports/<int:inspection_id>/state/",
        datasets.dataset_progress,
        name="dataset-progress",
    ),
    path(
        "datasets/<int:dataset_id>/reports/<int:inspection_id>/report.json",
        datasets.dataset_report,
        name="dataset-report",
    ),
    path(
        "datasets/<int:dataset_id>/reports/<int:inspection_id>/dropped.jsonl",
        datasets.dataset_drops,
        name="dataset-drops",
    ),
    path(
        "datasets/<int:dataset_id>/reports/<int:inspection_id>/rows/<int:row>/",
        datasets.dataset_row_ready,
        name="dataset-row-ready",
    ),
    path("uploads/", uploads.upload_list, name="uploads"),
    path("uploads/<uuid:upload_id>/", uploads.upload_one, name="upload"),
    path("uploads/<uuid:upload_id>/finish/", uploads.upload_finish, name="upload-finish"),
]
