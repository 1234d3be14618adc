import os

if "EVALKIT_REPLAYED" in os.environ:  # before anything of this process can be called
    from evalkit.capture.unfollowed import refuse_from_environment

    refuse_from_environment()
