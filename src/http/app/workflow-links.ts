/** Where Temporal's Web UI shows our workflows. */
import type { Config } from '../../config/config.ts';

/** Each workflow has its page below this URL. @returns undefined where the configuration does not name the UI. */
export function workflowsUrl({
  temporal,
  temporalUiUrl,
}: Pick<Config, 'temporal' | 'temporalUiUrl'>): string | undefined {
  return temporalUiUrl === undefined ? undefined : listUrl(temporalUiUrl, temporal.namespace);
}

/** The Web UI's list of tasks, without deliveries, promotions and workflows that schedules start. */
export function tasksUrl(temporalUiUrl: string, namespace: string): string {
  return `${listUrl(temporalUiUrl, namespace)}?query=${encodeURIComponent('WorkflowType="mediaTask"')}`;
}

function listUrl(temporalUiUrl: string, namespace: string): string {
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows`;
}
