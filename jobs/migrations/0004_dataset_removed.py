from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0003_datasets'),
    ]

    operations = [
        migrations.AddField(
            model_name='dataset',
            name='removed',
            field=models.DateTimeField(blank=True, null=True, verbose_name='taken out'),
        ),
    ]
