"""What several parts of the package share: files, pictures, configs, devices, error texts."""
