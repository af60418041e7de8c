/** What the campaign's receivers write down. */
import type { IncomingHttpHeaders } from 'node:http';

export type ReceiverLine =
  /** A whole request has come; `id` counts them within one `run` of the process. */
  | {
      readonly kind: 'received';
      readonly run: number;
      readonly id: number;
      readonly path: string;
      readonly headers: IncomingHttpHeaders;
      readonly body: string;
      readonly mode: string;
    }
  /** The answer to it is about to be written. */
  | { readonly kind: 'answered'; readonly run: number; readonly id: number; readonly status: number }
  /** Somebody connected to the address that nobody may connect to. */
  | { readonly kind: 'forbidden' };
