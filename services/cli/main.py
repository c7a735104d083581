"""The entry point of `propagation`."""


def run() -> None:
    from services.kernel_cache import use_kernel_cache

    use_kernel_cache()
    from services.cli.app import app

    app()


if __name__ == "__main__":
    run()
