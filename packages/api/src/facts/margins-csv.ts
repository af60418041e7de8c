/** The margin report as CSV: what the admin API answers, and what the operator's page saves. */
import type { WireMargins } from '../admin/margins.ts';
import { BYTE_ORDER_MARK, csvLineOf } from './csv.ts';

const SUM_COLUMNS = [
  'tasks',
  'textCalls',
  'captured',
  'cost',
  'margin',
  'tasksBelowCost',
  'unknownTasks',
  'unknownCaptured',
  'reportedTasks',
  'usageTasks',
  'ruleTasks',
] as const satisfies readonly (keyof WireMargins['total'])[];

/** The rows as a file for spreadsheets; the names of the columns are those of the members. */
export function marginsCsv({ groupBy, rows }: WireMargins): string {
  const columns = [...groupBy, ...SUM_COLUMNS];
  const lines = rows.map((row) => csvLineOf(columns.map((column) => String(row[column] ?? ''))));
  return [BYTE_ORDER_MARK, csvLineOf(columns), ...lines].join('');
}
