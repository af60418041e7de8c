/** What a filtered list shows when it has no rows: how to widen the filter, or the first step. */
import { Button } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { EmptyState } from './states.tsx';

export interface EmptyListTexts {
  readonly noneYet: string;
  readonly noneYetHint: string;
  readonly toPlayground: string;
  readonly noneMatch: string;
  readonly noneMatchHint: string;
  readonly clearFilters: string;
}

export function EmptyList(props: {
  readonly texts: EmptyListTexts;
  readonly icon: ReactNode;
  /** A filter or a later page may hide rows. */
  readonly isNarrow: boolean;
  readonly onClear: () => void;
}) {
  const { texts } = props;
  if (props.isNarrow) {
    return (
      <EmptyState
        icon={<IconFilterOff size={32} aria-hidden />}
        title={texts.noneMatch}
        action={
          <Button variant="default" onClick={props.onClear}>
            {texts.clearFilters}
          </Button>
        }
      >
        {texts.noneMatchHint}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={props.icon}
      title={texts.noneYet}
      action={
        <Button component={Link} href="/playground">
          {texts.toPlayground}
        </Button>
      }
    >
      {texts.noneYetHint}
    </EmptyState>
  );
}
