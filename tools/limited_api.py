#!/usr/bin/env python3
"""Tell the build whether extensions can be for all versions of Python: not without the GIL.

The file is not executable: so Meson runs it with the Python that it runs on itself, which is
the one that is built for, and not with the first in the path.
"""

import sysconfig

print("false" if sysconfig.get_config_var("Py_GIL_DISABLED") else "true")
