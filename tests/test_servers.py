from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from redis import Redis

from tests.servers import RedisServer


def test_a_killed_server_comes_back_with_what_it_had_written(redis_server: RedisServer) -> None:
    client = Redis.from_url(redis_server.url)
    client.xadd("trainyard:test", {"d": "line"}, id="12-0")
    assert client.execute_command("WAITAOF", 1, 0, 5000)[0] == 1
    redis_server.restart()
    assert client.xrange("trainyard:test") == [(b"12-0", {b"d": b"line"})]


def test_a_server_can_come_back_empty(redis_server: RedisServer) -> None:
    client = Redis.from_url(redis_server.url)
    client.set("trainyard:test", "kept")
    redis_server.restart(lose_data=True)
    assert client.dbsize() == 0


@pytest.mark.django_db
def test_each_test_has_a_database_of_its_own() -> None:
    assert not User.objects.exists()
