"""The objects of a RayJob: its RayCluster, the submitter Job, the submission to Ray."""
