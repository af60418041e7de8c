/**
 * Records the fixture of a release for upgrade tests: makes sample data through the API of that release's own
 * `npm start`, and dumps its database below `test/fixtures/releases/<version>`. Run it from any checkout against an
 * installation of the release, started with a data folder of its own and with
 * `EGRESS_ALLOW=http://127.0.0.1:<callback port> EGRESS_PORTS=443,<callback port> CALLBACK_OFFSETS_SECONDS=0,1,2`.
 *
 * Usage: npm run ts -- scripts/release-fixture/run.ts --release 1.0.0 --checkout <folder> --data-dir <folder> --callback-port 28999
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { dumpDatabase } from './dump.ts';
import { makeSampleData } from './sample-data.ts';
import { count } from '../../test/support/number-options.ts';

interface Instance {
  readonly apiUrl: string;
  readonly adminUrl: string;
  readonly databaseUrl: string;
  readonly environment: Readonly<Record<string, string>>;
}

const options = new Command()
  .requiredOption('--release <version>', 'e.g. 1.0.0')
  .requiredOption('--checkout <folder>', 'a checkout of the release')
  .requiredOption('--data-dir <folder>', 'data folder of its npm start')
  .requiredOption('--callback-port <number>', 'loopback port for callbacks', count)
  .parse()
  .opts();

const instance = JSON.parse(await readFile(path.join(options.dataDir, 'instance.json'), 'utf8')) as Instance;
const { ADMIN_TOKEN: adminToken = '', ENCRYPTION_KEY: encryptionKey = '' } = instance.environment;
const samples = await makeSampleData({ ...instance, adminToken, callbackPort: options.callbackPort });
const tables = await dumpDatabase({
  databaseUrl: instance.databaseUrl,
  migrations: path.join(options.checkout, 'migrations'),
  folder: path.resolve('test/fixtures/releases', options.release),
  facts: { version: options.release, encryptionKey, samples },
});
for (const [table, rows] of Object.entries(tables)) process.stderr.write(`${table}: ${rows}\n`);
