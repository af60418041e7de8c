/**
 * Reads a stream of server-sent events, as the API sends them for the events of a task and the answer of a text model.
 */
import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface ServerSentEvent {
  readonly id?: string | undefined;
  /** `message` if the stream does not name the event. */
  readonly event: string;
  readonly data: string;
}

/** Yields events until the stream ends; leaving the loop early cancels it. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { id: value.id, event: value.event ?? 'message', data: value.data };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
