import { dashboardKey, SIGN_IN_LINK_SECONDS, createSignInLink, signInUrl } from '../../accounts/sessions.ts';
import { readKey } from '../../accounts/keys.ts';
import { loadPublicUrl } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Queryable } from '../../database/database.ts';
import { Option } from '@commander-js/extra-typings';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, onlyAccount } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

export function signInLinkCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('a link to the dashboard')
    .description(`make a link to the dashboard; it works once, within ${SIGN_IN_LINK_SECONDS / 60} minutes`)
    .option(...ACCOUNT)
    .addOption(
      new Option(
        '--key <key>',
        'the id of the key whose rights the session has; default: the widest of the account',
      ).conflicts('account'),
    )
    .action(
      onInstallation(async ({ database, environment }, { account, key }) => {
        const publicUrl = loadPublicUrl(environment);
        const now = await readDatabaseTime(database);
        return database.transaction(async (transaction) => {
          const keyId =
            key === undefined
              ? await dashboardKey(transaction, await onlyAccount(transaction, account), now)
              : await requireUsable(transaction, key, now);
          const link = await createSignInLink(transaction, keyId, now);
          return { key: keyId, url: signInUrl(publicUrl, link.secret), until: link.expiresAt.toISOString() };
        });
      }),
    );
}

/** @throws {AdminError} a session of this key would be rejected. */
async function requireUsable(database: Queryable, keyId: string, now: number): Promise<string> {
  const { scopes, revokedAt, expiresAt } = await readKey(database, keyId);
  if (revokedAt !== undefined) throw new AdminError(`${keyId} is revoked`);
  if (expiresAt !== undefined && expiresAt.getTime() <= now) throw new AdminError(`${keyId} has expired`);
  if (!scopes.includes('dashboard')) throw new AdminError(`${keyId} lacks the scope dashboard`);
  return keyId;
}
