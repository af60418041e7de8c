/** One event of a stream (WHATWG HTML §9.2). */
export interface ServerSentEvent {
  readonly id?: string | number | undefined;
  readonly event?: string | undefined;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** The event as it goes over the wire. */
export function formatEvent({ id, event, data }: ServerSentEvent): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}${formatEncodedEvent(JSON.stringify(data), event)}`;
}

/** An event whose data is text already. @param data without line breaks, like JSON: it is sent as one `data` line. */
export function formatEncodedEvent(data: string, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`;
}
