//! Excerpts of public logs, in the layouts of their launchers; host names are replaced.
