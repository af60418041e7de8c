/** Temporal as one process on a host. */
import { obtainTemporalCli } from '../../src/standalone/temporal-cli.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import type { Service } from './service.ts';

const PORT = 7233;
/** How soon it sees that a release of workers has no open task left; by default that takes six minutes. */
const DRAINAGE = {
  'matching.wv.VersionDrainageStatusVisibilityGracePeriod': '"10s"',
  'matching.wv.VersionDrainageStatusRefreshInterval': '"5s"',
};

export interface TemporalService extends Service {
  readonly address: string;
}

export async function provideTemporal(hostAddress: string, databaseFile: string): Promise<TemporalService> {
  const cliPath = await obtainTemporalCli({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    environment: process.env,
    report: () => {},
  });
  const address = `${hostAddress}:${PORT}`;
  return {
    address,
    launch() {
      const server = {
        cliPath,
        port: PORT,
        databaseFile,
        searchAttributes: SEARCH_ATTRIBUTES,
        dynamicConfig: DRAINAGE,
      };
      const launch = temporalServerLaunch(server, process.env);
      // On every address of its host: its parts reach each other by the loopback.
      return { ...launch, args: launch.args.map((arg) => (arg === '127.0.0.1' ? '0.0.0.0' : arg)) };
    },
    ready: (signal) => waitForTemporal(address, signal),
  };
}
