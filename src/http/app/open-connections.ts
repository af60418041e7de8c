/**
 * What a listener is doing at this moment: the connections that stand, and the requests that are being answered, so that
 * it can come to an end without cutting anything off that somebody waits for.
 */
import type { EventEmitter } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** @param event what tells of a connection that can be written to: `secureConnection` of a server with TLS. */
export function openConnections(server: EventEmitter, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on(event, (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

export interface DrainableListener {
  readonly listener: RequestListener;
  /** From now on every answer that begins says that it is the last one of its connection. */
  drain(): void;
  /** What was begun before that ends its connection, too: nothing new is to come on it. */
  finish(): void;
}

export function drainable(listener: RequestListener): DrainableListener {
  const answering = new Set<ServerResponse>();
  let isDraining = false;
  return {
    listener(request, response) {
      answering.add(response);
      response.once('close', () => answering.delete(response));
      if (isDraining) response.setHeader('Connection', 'close');
      listener(request, response);
    },
    drain() {
      isDraining = true;
      for (const response of answering) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    // Not while draining: whoever was not told may be sending the next request at that very moment.
    finish() {
      for (const response of answering) {
        // Taken now: a response that has finished has let go of it.
        const { socket } = response;
        response.once('finish', () => socket?.end());
      }
    },
  };
}
