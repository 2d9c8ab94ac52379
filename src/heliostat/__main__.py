import sys

from heliostat.cli.main import main

sys.exit(main())
