/**
 * The guarded egress client with metrics: how each exchange ended (src/egress/ does not depend on metrics). A download
 * ends when all of its bytes have arrived.
 */
import { EgressError } from '../egress/egress-error.ts';
import type { Egress } from '../egress/guarded-client.ts';
import type { EgressOutcome, OutgoingMetrics } from '../telemetry/metrics-traffic.ts';

/** The same client, with its exchanges counted. */
export function observeEgress(egress: Egress, metrics: OutgoingMetrics): Egress {
  return {
    close: () => egress.close(),
    findObstacle: (url, options) => egress.findObstacle(url, options),

    async post(url, options) {
      try {
        const answer = await egress.post(url, options);
        metrics.egressEnded('post', 'ok');
        return answer;
      } catch (error) {
        metrics.egressEnded('post', outcomeOf(error));
        throw error;
      }
    },

    async download(url, options) {
      try {
        const answer = await egress.download(url, options);
        const { body } = answer;
        body.once('close', () => {
          const outcome = body.errored !== null ? outcomeOf(body.errored) : body.readableEnded ? 'ok' : 'stopped';
          metrics.egressEnded('download', outcome);
        });
        return answer;
      } catch (error) {
        metrics.egressEnded('download', outcomeOf(error));
        throw error;
      }
    },
  };
}

/** Any other error means that the caller aborted the exchange. */
function outcomeOf(error: unknown): EgressOutcome {
  if (!(error instanceof EgressError)) return 'stopped';
  return error.isBarred ? 'blocked' : error.kind;
}
