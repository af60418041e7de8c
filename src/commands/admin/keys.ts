/** `admin keys`: the API keys of accounts. A key is shown once, when it is created. */
import { SCOPES } from '../../accounts/api-key.ts';
import { ROTATION_OVERLAP_SECONDS, createKey, listKeys, revokeKey, rotateKey } from '../../accounts/keys.ts';
import type { SpendCaps } from '../../accounts/keys.ts';
import { readCapSpending } from '../../billing/key-spending.ts';
import { findUnknownModels } from '../../catalogue/pinned-definitions.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Queryable } from '../../database/database.ts';
import { AdminError } from './admin-error.ts';
import { listOf, listOption, wholeNumber } from '../command-line.ts';
import { ACCOUNT, onlyAccount, readAmount, readExpiry, readName } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { presentKey } from './print.ts';

const MAX_MODELS = 100;

export function keyCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('create')
    .description('create a key; it is shown once')
    .option(...ACCOUNT)
    .option('--name <name>', 'name of the key', 'key')
    .addOption(listOption('--scopes <scopes...>', 'default: all', SCOPES))
    .option('--models <models...>', 'models it may use, without routes; default: all', listOf)
    .option('--expires <time>', '2027-01-31, 2027-01-31T12:00:00Z or 30d; default: never')
    .option('--cap-day <amount>', 'decimal USD that may be spent with it per UTC day')
    .option('--cap-total <amount>', 'decimal USD that may be spent with it in total')
    .action(
      onInstallation(async ({ database }, { account, name, scopes, models, expires, capDay, capTotal }) => {
        const rights = {
          name: readName(name),
          scopes: scopes ?? SCOPES,
          ...(models === undefined ? {} : { models: await readModels(database, models) }),
          ...(expires === undefined
            ? {}
            : { expiresAt: readExpiry('expires', expires, await readDatabaseTime(database)) }),
          spendCaps: readCaps(capDay, capTotal),
        };
        const accountId = await onlyAccount(database, account);
        const key = await createKey(database, accountId, rights);
        return { account: accountId, keyId: key.id, apiKey: key.secret };
      }),
    );
  group
    .command('list')
    .description('list the keys of an account')
    .option(...ACCOUNT)
    .action(
      onInstallation(async ({ database }, { account }) => {
        const keys = await listKeys(database, await onlyAccount(database, account));
        const capIds = keys.flatMap(({ spendCapId }) => spendCapId ?? []);
        const spending = await readCapSpending(database, [...new Set(capIds)], await readDatabaseTime(database));
        return keys.map((key) => presentKey(key, spending));
      }),
    );
  group
    .command('rotate')
    .description('replace a key by one with the same rights, which is shown once; both work for a while')
    .argument('<key>')
    .option(
      '--overlap <seconds>',
      'seconds that the old one works beside the new one; 0: it stops at once',
      wholeNumber(0, ROTATION_OVERLAP_SECONDS.maximum),
      ROTATION_OVERLAP_SECONDS.default,
    )
    .action(
      onInstallation(async ({ database }, key, { overlap }) => {
        const now = await readDatabaseTime(database);
        const made = await database.transaction((transaction) =>
          rotateKey(transaction, key, { now, overlapSeconds: overlap }),
        );
        return { keyId: made.id, apiKey: made.secret, replaces: key };
      }),
    );
  group
    .command('revoke')
    .description('revoke a key permanently, by its id')
    .argument('<key>')
    .action(
      onInstallation(async ({ database }, key) => {
        if (!(await revokeKey(database, key))) throw new AdminError(`no key ${key}`);
        return { keyId: key, revoked: true };
      }),
    );
}

async function readModels(database: Queryable, models: readonly string[]): Promise<readonly string[]> {
  const names = [...new Set(models)];
  if (names.length > MAX_MODELS) throw new AdminError(`--models: want at most ${MAX_MODELS} names of models`);
  const [unknown] = await findUnknownModels(database, names);
  if (unknown !== undefined) {
    throw new AdminError(`--models: "${unknown}" is not the name of a model without its route`);
  }
  return names;
}

function readCaps(day: string | undefined, total: string | undefined): SpendCaps {
  return {
    dayMicroUsd: day === undefined ? undefined : readAmount('cap-day', day),
    totalMicroUsd: total === undefined ? undefined : readAmount('cap-total', total),
  };
}
