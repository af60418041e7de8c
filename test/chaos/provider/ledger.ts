/** The log of the campaign's provider: all that reached it, and what it made and returned. */
import type { LogLine } from '../../support/test-provider/log.ts';

export type ProviderLine =
  /** `submit` is work that was accepted, once per job; the rest as in the test provider's log. */
  | (Omit<LogLine, 'at' | 'kind'> & { readonly kind: Exclude<LogLine['kind'], 'file'>; readonly hookUrl?: string })
  /** A result that is about to be served: its properties when it arrives complete. */
  | {
      readonly kind: 'file';
      readonly jobId: string;
      readonly prompt: string;
      readonly sha256: string;
      readonly bytes: number;
    }
  /** A request for work, with its key. */
  | { readonly kind: 'asked'; readonly prompt: string; readonly authorization: string }
  /** A text call; `answered`: everything was written, with these tokens reported. */
  | {
      readonly kind: 'text';
      readonly marker: string;
      readonly state: 'asked' | 'answered' | 'broken' | 'rejected' | 'left';
      readonly inputTokens?: number;
      readonly outputTokens?: number;
    }
  /** A request that the provider's misbehaviour affected; `marker` of a text call. */
  | { readonly kind: 'misbehaved'; readonly mode: string; readonly path: string; readonly marker?: string };
