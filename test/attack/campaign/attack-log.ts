/** What attackers write down: every request with how it was answered. */

export interface AttackLine {
  readonly attacker: string;
  readonly attack: string;
  readonly ms: number;
  /** 0: no answer came, or the attacker did not wait for one. */
  readonly status: number;
  readonly errorCode: string;
  readonly hasRetryAfter: boolean;
}
