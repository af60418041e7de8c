/** The content of the alert rules and the dashboard, as far as the tests need it. */

/** The metrics of Temporal's SDK that they name: those exist only in a worker that is connected. */
export const SDK_METRICS_IN_FILES: readonly string[] = [
  'temporal_worker_task_slots_used',
  'temporal_activity_schedule_to_start_latency_seconds_bucket',
  'temporal_request_failure_total',
];

/** The names of metrics in a query, identified by the prefixes of ours and the libraries'. */
export function namesIn(query: string): string[] {
  const withoutTexts = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return [...withoutTexts.matchAll(/\b(?:darkroom|nodejs|process|temporal)_\w+/g)].map(([name]) => name);
}
