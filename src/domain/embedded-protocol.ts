/** The protocol of the embedded engines, and the name of their upstream in records: no provider bills their work. */
export const EMBEDDED_PROTOCOL = 'embedded';

/** The name of our own text model among the upstreams of text. */
export const EMBEDDED_TEXT_UPSTREAM = 'text:embedded';
