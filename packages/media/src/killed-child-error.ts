/** A media child was killed while it read an untrusted file, which is the file's fault, and why: for metrics. */
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** `time`, `memory`, `cpu` and `processes`: a bound was exceeded; `crash`: the reader of the file crashed. */
export type KillReason = 'time' | 'memory' | 'cpu' | 'processes' | 'crash';

export class KilledChildError extends UndecodableMediaError {
  readonly reason: KillReason;

  constructor(reason: KillReason, problem: string) {
    super(problem);
    this.reason = reason;
  }
}
