"""From a schedule to loops: bound inference, loop nests, guards, tails, tensorize."""
