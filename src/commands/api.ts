/** `darkroom api`: runs the HTTP facade and the launcher until stopped. */
import { loadConfig, loadLogConfig } from '../config/config.ts';
import { createFoundation } from '../context.ts';
import { readCertificate } from '../http/app/tls-certificates.ts';
import { startApi } from '../processes/api.ts';
import { watchForHang } from '../processes/hang-watch.ts';
import { prepareMediaSandbox } from '../processes/media-sandbox.ts';
import { createDatabaseWait } from '../processes/wait-for-dependencies.ts';
import { createLogger } from '../telemetry/log.ts';
import { installTemporalRuntime } from '../temporal/runtime.ts';
import {
  announceReady,
  logProcessWarnings,
  onHangUp,
  waitForStopSignal,
  warnOfUnknownVariables,
  warnOfUnsetVariables,
  checkStoredSecrets,
} from './process-lifecycle.ts';

export async function runApi(environment: NodeJS.ProcessEnv): Promise<void> {
  const logger = createLogger({ ...loadLogConfig(environment), role: 'api' });
  logProcessWarnings(logger);
  warnOfUnknownVariables(environment, logger);
  const config = loadConfig(environment);
  warnOfUnsetVariables(environment, logger, 'api');
  const runtime = await installTemporalRuntime(logger, config.metrics !== undefined);
  const stop = waitForStopSignal(logger);
  const foundation = await createFoundation(config, logger, 'api');
  const stopped = new AbortController();
  void stop.then(() => stopped.abort());
  try {
    // Problems that only the operator can resolve are reported before anything is waited for.
    for (const { tls } of [config.http, ...(config.admin === undefined ? [] : [config.admin.http])]) {
      if (tls !== undefined) await readCertificate(tls);
    }
    await prepareMediaSandbox(foundation);
    const waitForDatabase = createDatabaseWait(logger, stopped.signal);
    await waitForDatabase(() => foundation.database.verify());
    await foundation.clock.measure();
    foundation.clock.start();
    foundation.storeClaim.start();
    await foundation.storeClaim.waitForFirstAttempt();
    await checkStoredSecrets(foundation);
    const api = await startApi(foundation, runtime, waitForDatabase);
    logger.info({ url: api.url }, 'api started');
    // Without TLS the signal keeps its usual meaning: the terminal is gone.
    if (config.http.tls !== undefined) onHangUp(() => api.reloadCertificate());
    watchForHang('api', config.hangMs);
    announceReady({ url: api.url, ...(api.adminUrl === undefined ? {} : { adminUrl: api.adminUrl }) });
    try {
      await Promise.race([stop, foundation.storeClaim.foreign]);
    } finally {
      await api.close();
    }
  } catch (error) {
    if (error !== stopped.signal.reason) throw error;
  } finally {
    await foundation.close();
    await runtime.close();
  }
}
