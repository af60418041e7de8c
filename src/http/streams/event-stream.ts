/**
 * Server-sent events over a connection that stays open (contract §4): the headers that keep proxies from buffering
 * events, a comment after silence, and an end for clients that do not read. An open stream consists of its response,
 * and of nothing that a request needed: there may be many thousands.
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import { formatEvent } from '../../domain/server-sent-event.ts';
import type { ServerSentEvent } from '../../domain/server-sent-event.ts';
import type { RequestState } from '../app/request-state.ts';

/** Contract §4: "a comment `: keep-alive` after 15 s of silence". */
const SILENCE_MS = 15_000;
/** How often all streams are checked for silence. */
const CHECK_INTERVAL_MS = 1_000;
/** What a client may leave unread here, beside what the system buffers for its connection: some hundred events. */
const MAX_UNREAD_BYTES = 64 * 1024;
const KEEP_ALIVE = ': keep-alive\n\n';

export interface EventStream {
  /** Sends events in one write; a client that has left too much unread is cut instead. */
  send(events: readonly ServerSentEvent[]): void;
  /** Whether the client is still there, and the stream has not been ended. */
  isOpen(): boolean;
  /** Ends the stream; @param isLast whether its connection ends too, because the process does. */
  end(isLast?: boolean): void;
}

/** All open streams of a process. */
export interface EventStreams {
  /**
   * Responds to a request with a stream. From here on nothing else may respond to it.
   *
   * @param onClose called once, when the stream has ended or the client disconnects; not where it had disconnected
   *   before.
   */
  open(ctx: ParameterizedContext<RequestState>, onClose: () => void): EventStream;
  /** Comments on every stream that was silent for 15 s, and cuts those whose client reads nothing. Runs by itself. */
  keepAlive(): void;
  /** How many are open. */
  count(): number;
}

/** Whether a client requests the stream and not for JSON; the order of its `Accept` decides between equals. */
export function wantsEventStream(ctx: ParameterizedContext<RequestState>): boolean {
  return ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream';
}

/** @param now milliseconds since 1970. */
export function createEventStreams(now: () => number): EventStreams {
  /** With the time of each one's last write, the longest silent first. */
  const open = new Map<ServerResponse, number>();
  let timer: NodeJS.Timeout | undefined;

  const write = (response: ServerResponse, text: string): void => {
    if (response.writableEnded || response.destroyed) return;
    if (response.writableLength > MAX_UNREAD_BYTES) {
      response.destroy();
      return;
    }
    response.write(text);
    open.delete(response);
    open.set(response, now());
  };

  const keepAlive = (): void => {
    const silentSince = now() - SILENCE_MS;
    // A stream that is written to moves to the end of the map, where it is no longer silent.
    for (const [response, writtenAt] of open) {
      if (writtenAt > silentSince) break;
      if (response.writableLength > 0) response.destroy();
      else write(response, KEEP_ALIVE);
    }
  };

  return {
    open(ctx, onClose) {
      const { res: response } = ctx;
      ctx.respond = false;
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      });
      response.flushHeaders();
      if (!response.destroyed) {
        open.set(response, now());
        timer ??= setInterval(keepAlive, CHECK_INTERVAL_MS).unref();
        response.once('close', () => {
          open.delete(response);
          if (open.size === 0) {
            clearInterval(timer);
            timer = undefined;
          }
          onClose();
        });
      }
      return {
        send: (events) => write(response, events.map(formatEvent).join('')),
        isOpen: () => !response.writableEnded && !response.destroyed,
        end(isLast = false) {
          if (response.writableEnded) return;
          const { socket } = response;
          response.end(isLast ? () => socket?.end() : undefined);
        },
      };
    },
    keepAlive,
    count: () => open.size,
  };
}
