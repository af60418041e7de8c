/** The protocol of the embedded engines, and the name of their upstream in records: no provider bills their work. */
export const EMBEDDED_PROTOCOL = 'embedded';
