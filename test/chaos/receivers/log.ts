/** The log of the campaign's receivers. */
import type { IncomingHttpHeaders } from 'node:http';

export type ReceiverLine =
  /** A whole request has arrived; `id` counts them within one `run` of the process. */
  | {
      readonly kind: 'received';
      readonly run: number;
      readonly id: number;
      readonly path: string;
      readonly headers: IncomingHttpHeaders;
      readonly body: string;
      readonly mode: string;
    }
  /** The response to it is about to be written. */
  | { readonly kind: 'answered'; readonly run: number; readonly id: number; readonly status: number }
  /** A connection to the address that no process may connect to. */
  | { readonly kind: 'forbidden' };
