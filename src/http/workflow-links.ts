/** Where Temporal's Web UI shows our workflows. */
import type { Config } from '../config/config.ts';

/** Below it each workflow has its page. @returns undefined where the configuration does not say where the UI is. */
export function workflowsUrl({
  temporal,
  temporalUiUrl,
}: Pick<Config, 'temporal' | 'temporalUiUrl'>): string | undefined {
  if (temporalUiUrl === undefined) return undefined;
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows`;
}
