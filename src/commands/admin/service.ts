/** `admin queues` and `admin admin-token`: the service itself. */
import { loadAdminToken } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import { locateDataFolder } from '../../standalone/data-folder.ts';
import { readInstance } from '../../standalone/instance.ts';
import { readSecrets } from '../../standalone/secrets.ts';
import { readQueues } from '../../tasks/outbox/queues.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { print } from './print.ts';

export function queuesCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('what waits and runs')
    .description('see what waits and runs')
    .action(onInstallation(async ({ database }) => readQueues(database, await readDatabaseTime(database))));
}

/** Works only on a data directory, whether anything runs on it or not. */
export function adminTokenCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  group
    .command('show')
    .description('show what the admin listener takes as Authorization: Bearer')
    .action(async (_options, command) => {
      const { json, dataDir } = command.optsWithGlobals();
      const folder = locateDataFolder(dataDir, environment);
      const instance = await readInstance(folder);
      const token =
        instance === undefined ? (await readSecrets(folder))?.adminToken : loadAdminToken(instance.environment);
      if (token === undefined || token === '') {
        throw new AdminError(
          `${folder} has no admin token: npm start makes one there; elsewhere it is what you set as ADMIN_TOKEN`,
        );
      }
      print({ ...(instance === undefined ? {} : { url: `${instance.adminUrl}/admin` }), token }, json === true);
    });
}
