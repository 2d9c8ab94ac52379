"""Bodies as objects: JSON, YAML and protobuf decoded, and one kind served in several versions."""
