/** How many are selected, and the actions on all of them. */
import { Button, Checkbox, Group, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconPin, IconTrash } from '@tabler/icons-react';
import type { StoredOutput } from '../../api/storage.ts';
import { formatUsd } from '../../components/money.ts';
import { formatBytes } from '../../components/quantities.ts';
import { texts } from '../../texts/storage.ts';
import { monthlyUsd } from './storage-cost.ts';
import styles from './storage.module.css';

interface BarProps {
  /** Outputs of the page that can be selected. */
  readonly selectable: readonly StoredOutput[];
  readonly selected: readonly StoredOutput[];
  /** Decimal USD per GB and month; undefined if the key may not read it. */
  readonly price: string | undefined;
  readonly isPromoting: boolean;
  readonly onSelect: (ids: readonly string[]) => void;
  readonly onPromote: (outputs: readonly StoredOutput[]) => void;
  readonly onDelete: (outputs: readonly StoredOutput[]) => void;
}

export function SelectionBar(props: BarProps) {
  const { selectable, selected, price } = props;
  const { length } = selected;
  const temporary = selected.filter(({ storage_tier: tier }) => tier === 'temp');
  const bytes = sizeOf(selected);
  return (
    <Group className={styles['bar']} gap="sm" mih="3rem">
      <Checkbox
        label={texts.selectAll}
        checked={length > 0 && length === selectable.length}
        indeterminate={length > 0 && length < selectable.length}
        onChange={() => props.onSelect(length === selectable.length ? [] : selectable.map(({ id }) => id))}
        disabled={selectable.length === 0}
      />
      <Text size="sm" role="status">
        {length === 0 ? '' : `${texts.selected(length)}, ${texts.selectedBytes(formatBytes(bytes))}`}
      </Text>
      {length === 0 ? null : (
        <Group gap="xs" ml="auto">
          <Button size="xs" variant="subtle" color="gray" onClick={() => props.onSelect([])}>
            {texts.clearSelection}
          </Button>
          {temporary.length === 0 ? null : (
            <BusyButton
              size="xs"
              variant="default"
              leftSection={<IconPin size={14} aria-hidden />}
              isBusy={props.isPromoting}
              onClick={() => props.onPromote(temporary)}
            >
              {texts.promote}
              {price === undefined ? '' : ` (${texts.promoteCost(formatUsd(monthlyUsd(sizeOf(temporary), price)))})`}
            </BusyButton>
          )}
          <Button size="xs" leftSection={<IconTrash size={14} aria-hidden />} onClick={() => props.onDelete(selected)}>
            {texts.remove}
          </Button>
        </Group>
      )}
    </Group>
  );
}

function sizeOf(outputs: readonly StoredOutput[]): number {
  return outputs.reduce((sum, { size }) => sum + size, 0);
}
