/** The accounts of a bench: no limit of an account affects what is measured. */
import { createAccount } from '../../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../../src/accounts/keys.ts';
import type { CreatedKey } from '../../../src/accounts/keys.ts';
import { topUp } from '../../../src/billing/ledger.ts';
import type { Database } from '../../../src/database/database.ts';
import { newId } from '../../../src/domain/ids.ts';

/** More than any window can use. */
const NO_CAP = 10_000_000;
export const NO_LIMIT_MICRO_USD = 1_000_000_000_000_000n;

export interface BenchAccount {
  readonly accountId: string;
  /** May do everything. */
  readonly key: CreatedKey;
}

/** An account with a balance, and an API key for it. */
export async function createBenchAccount(database: Database): Promise<BenchAccount> {
  return database.transaction(async (transaction) => {
    const accountId = await createAccount(transaction, 'bench', {
      runningCap: NO_CAP,
      queueCap: NO_CAP,
      createsPerMinute: NO_CAP,
      readsPerMinute: NO_CAP,
      textRequestsPerMinute: NO_CAP,
      textTokensPerMinute: 1_000_000_000,
      textStreamsCap: NO_CAP,
    });
    await topUp(transaction, accountId, NO_LIMIT_MICRO_USD, newId('topup'));
    const key = await createKey(transaction, accountId, { name: 'bench', scopes: SCOPES });
    return { accountId, key };
  });
}
