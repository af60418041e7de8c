/** `admin queues` and `admin admin-token`: the service itself. */
import { loadAdminToken } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import { resolveDataDirectory } from '../../standalone/data-directory.ts';
import { readInstance } from '../../standalone/instance.ts';
import { readSecrets } from '../../standalone/secrets.ts';
import { readQueues } from '../../tasks/outbox/queues.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { print } from './print.ts';

export function queuesCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('backlogs and running work')
    .description('show backlogs and running work')
    .action(onInstallation(async ({ database }) => readQueues(database, await readDatabaseTime(database))));
}

/** Works only on a data directory, whether anything runs on it or not. */
export function adminTokenCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  group
    .command('show')
    .description('show the admin token (Authorization: Bearer of the admin listener)')
    .action(async (_options, command) => {
      const { json, dataDir } = command.optsWithGlobals();
      const directory = resolveDataDirectory(dataDir, environment);
      const instance = await readInstance(directory);
      const token =
        instance === undefined ? (await readSecrets(directory))?.adminToken : loadAdminToken(instance.environment);
      if (token === undefined || token === '') {
        throw new AdminError(
          `${directory} has no admin token: npm start makes one there; elsewhere it is what you set as ADMIN_TOKEN`,
        );
      }
      const url = instance === undefined ? undefined : `${instance.adminUrl}/admin`;
      if (json === true) {
        print({ ...(url === undefined ? {} : { url }), token }, true);
        return;
      }
      // Standard output is the token alone, so that it can be piped.
      if (url !== undefined) process.stderr.write(`of ${url}\n`);
      process.stdout.write(`${token}\n`);
    });
}
