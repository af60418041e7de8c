/** A media child was ended in the middle of a stranger's file, which is the file's fault, and why: for metrics. */
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** `time`, `memory`, `cpu` and `processes`: a bound was exceeded; `crash`: what read the file broke. */
export type KillReason = 'time' | 'memory' | 'cpu' | 'processes' | 'crash';

export class KilledChildError extends UndecodableMediaError {
  readonly reason: KillReason;

  constructor(reason: KillReason, problem: string) {
    super(problem);
    this.reason = reason;
  }
}
