"""A session over HTTP. This module only re-exports."""

from discreet.client.conversation import Client
from discreet.client.services import RemoteCounter, RemoteMonitor, RemoteSynopsis

__all__ = ["Client", "RemoteCounter", "RemoteMonitor", "RemoteSynopsis"]
