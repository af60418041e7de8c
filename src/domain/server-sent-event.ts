/** One event of a stream (WHATWG HTML §9.2). */
export interface ServerSentEvent {
  readonly id?: string | number | undefined;
  readonly event?: string | undefined;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** The event as it goes over the wire. JSON contains no line breaks, so that one `data` line is enough. */
export function formatEvent({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}
