#!/bin/sh
# Prints the path of a Python 3.11 or later that can make a virtual environment; or says what to install.
# TRAINYARD_PYTHON names one directly.
good='import sys, ssl, sqlite3, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
new='import sys; sys.exit(sys.version_info < (3, 11))'
bare=
for name in "${TRAINYARD_PYTHON:-python3.11}" python3.11 python3.12 python3.13 python3 python python3.14; do
    found=$(command -v "$name" 2>/dev/null) || continue
    if "$found" -c "$good" >/dev/null 2>&1; then
        echo "$found"
        exit 0
    fi
    if [ -z "$bare" ] && "$found" -c "$new" >/dev/null 2>&1; then
        bare=$found
    fi
done
if command -v uv >/dev/null 2>&1 && found=$(uv python find '>=3.11' 2>/dev/null) && "$found" -c "$good" 2>/dev/null; then
    echo "$found"
    exit 0
fi
if [ -n "$bare" ]; then
    version=$("$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    cat >&2 <<END
$bare is Python $version, but it cannot make virtual environments (a module of venv, ensurepip, ssl, sqlite3 is missing).
$bare 是 Python $version，但无法创建虚拟环境（缺少 venv、ensurepip、ssl 或 sqlite3 模块）。
  Debian, Ubuntu:  sudo apt-get install python$version-venv
  openEuler:       sudo dnf install python3 python3-pip
END
else
    cat >&2 <<END
Trainyard needs Python 3.11 or later, and none was found on PATH.
Trainyard 需要 Python 3.11 或更高版本，但在 PATH 中没有找到。
  Debian 12, Ubuntu 24.04:  sudo apt-get install python3 python3-venv
  Ubuntu 22.04:             sudo apt-get install python3.11 python3.11-venv
  openEuler 24.03:          sudo dnf install python3 python3-pip
  openEuler 22.03:          its own Python is 3.9; any other 3.11 will do, such as that of conda or of uv
                            系统自带 3.9；可使用 conda 或 uv 安装的 3.11
  elsewhere / 其他位置:      TRAINYARD_PYTHON=/path/to/python3.11 make demo
END
fi
exit 1
