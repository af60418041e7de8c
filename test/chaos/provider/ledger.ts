/** What the campaign's provider writes down: all that reached it, and what it made and handed out. */
import type { LogLine } from '../../support/test-provider/log.ts';

export type ProviderLine =
  /** `submit` is work that was taken, once a job; the rest as in the test provider's log. */
  | (Omit<LogLine, 'at' | 'kind'> & { readonly kind: Exclude<LogLine['kind'], 'file'>; readonly hookUrl?: string })
  /** A result that is about to be served: what it has to be when it arrives whole. */
  | {
      readonly kind: 'file';
      readonly jobId: string;
      readonly prompt: string;
      readonly sha256: string;
      readonly bytes: number;
    }
  /** Somebody wants work, and with this key. */
  | { readonly kind: 'asked'; readonly prompt: string; readonly authorization: string }
  /** A text call; `answered`: everything was written, with these tokens reported. */
  | {
      readonly kind: 'text';
      readonly marker: string;
      readonly state: 'asked' | 'answered' | 'broken' | 'refused' | 'left';
      readonly inputTokens?: number;
      readonly outputTokens?: number;
    }
  /** A request that met a misbehaviour of the whole provider. */
  | { readonly kind: 'misbehaved'; readonly mode: string; readonly path: string };
