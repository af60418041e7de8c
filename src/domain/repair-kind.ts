/** What the repair does about tasks and their callbacks. */
export { REPAIR_KINDS } from '@darkroom/api/facts/repair-kind';
export type { RepairKind } from '@darkroom/api/facts/repair-kind';
