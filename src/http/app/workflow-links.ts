/** Where Temporal's Web UI shows our workflows. */
import type { Config } from '../../config/config.ts';

/** Below it each workflow has its page. @returns undefined where the configuration does not say where the UI is. */
export function workflowsUrl({
  temporal,
  temporalUiUrl,
}: Pick<Config, 'temporal' | 'temporalUiUrl'>): string | undefined {
  return temporalUiUrl === undefined ? undefined : listUrl(temporalUiUrl, temporal.namespace);
}

/** The Web UI's list of tasks, without deliveries, promotions and what schedules start. */
export function tasksUrl(temporalUiUrl: string, namespace: string): string {
  return `${listUrl(temporalUiUrl, namespace)}?query=${encodeURIComponent('WorkflowType="mediaTask"')}`;
}

function listUrl(temporalUiUrl: string, namespace: string): string {
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows`;
}
