/**
 * The money of one attempt at a call in the background. The hold belongs to the call: the first attempt that comes so
 * far makes it, and later ones find it. How the attempt would settle is kept here until its outcome is recorded.
 */
import { UniqueViolationError } from '../../database/database.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import type { NewTextCall, TextSettlement } from '../money/text-call.ts';
import type { TextLedger } from '../money/text-ledger.ts';

const selectHold: Statement = {
  name: 'select_hold_of_background_call',
  text: 'SELECT 1 FROM text_calls WHERE id = $1',
};

export interface CallMoney extends Pick<TextLedger, 'hold' | 'settle'> {
  /** Undefined: the attempt did not come as far as a hold. */
  settlement(): TextSettlement | undefined;
}

export function createCallMoney({
  database,
  ledger,
}: {
  readonly database: Queryable;
  readonly ledger: Pick<TextLedger, 'hold'>;
}): CallMoney {
  let settlement: TextSettlement | undefined;
  return {
    async hold(call: NewTextCall) {
      const held = await database.query(selectHold, [call.id]);
      if (held.length > 0) return;
      try {
        await ledger.hold({ ...call, isBackground: true });
      } catch (error) {
        // That of an earlier attempt has just arrived.
        if (!(error instanceof UniqueViolationError)) throw error;
      }
    },
    settle(made) {
      settlement = made;
    },
    settlement: () => settlement,
  };
}
