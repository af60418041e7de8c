/** The log of the attackers: every request with its response. */

export interface AttackLine {
  readonly attacker: string;
  readonly attack: string;
  readonly ms: number;
  /** 0: no response came, or the attacker did not wait for one. */
  readonly status: number;
  readonly errorCode: string;
  readonly hasRetryAfter: boolean;
}
