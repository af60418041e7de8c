/** The tiles of a page of the list, their selection, and the actions on the selected ones. */
import { Center, Pagination, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { useAccount } from '../../api/account.ts';
import { STORAGE_PAGE_SIZE, usePromotion } from '../../api/storage.ts';
import type { StorageList, StoredOutput } from '../../api/storage.ts';
import { useNow } from '../../components/now.ts';
import { notifyError } from '../../components/notify.ts';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/storage.ts';
import { useDeletion } from './deletion.ts';
import { notifyDecision } from './rejections.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { useSelection } from './selection.ts';
import { StorageTile } from './storage-tile.tsx';
import { StorageViewer } from './storage-viewer.tsx';
import styles from './storage.module.css';

interface GalleryProps {
  readonly list: StorageList;
  /** From 1. */
  readonly page: number;
  readonly onPage: (page: number) => void;
  /** Shown instead of tiles if there are none. */
  readonly children: ReactNode;
}

export function Gallery({ list, page, onPage, children }: GalleryProps) {
  const mayWrite = useMay('storage:write');
  const { data: account } = useAccount(useMay('billing:read'));
  const nowMs = useNow();
  const [openId, setOpenId] = useState<string>();
  const promotion = usePromotion();
  const deletion = useDeletion();
  const { hidden } = deletion;
  const items = useMemo(
    () => list.items.filter(({ id, status }) => status === 'deleted' || !hidden.has(id)),
    [list, hidden],
  );
  const selectable = useMemo(() => items.filter(({ status }) => mayWrite && status === 'available'), [items, mayWrite]);
  const order = useMemo(() => selectable.map(({ id }) => id), [selectable]);
  const { ids, toggle, replace } = useSelection(order);
  const selected = selectable.filter(({ id }) => ids.has(id));

  const promote = (outputs: readonly StoredOutput[]): void =>
    promotion.mutate(
      outputs.map(({ id }) => id),
      {
        onSuccess(decision) {
          replace([]);
          notifyDecision(outputs, decision, { done: texts.promoted, rejected: texts.promotionRejected });
        },
        onError: (error) => notifyError({ message: error.message }),
      },
    );
  const remove = (outputs: readonly StoredOutput[]): void => {
    replace([]);
    deletion.start(outputs);
  };
  const open = items.findIndex(({ id }) => id === openId);
  return (
    <>
      {mayWrite && items.length > 0 ? (
        <SelectionBar
          selectable={selectable}
          selected={selected}
          price={account?.storagePrice}
          isPromoting={promotion.isPending}
          onSelect={replace}
          onPromote={promote}
          onDelete={remove}
        />
      ) : null}
      {list.items.length === 0 ? children : null}
      <ul className={styles['gallery']} aria-label={texts.gallery}>
        {items.map((output) => (
          <StorageTile
            key={output.id}
            output={output}
            isSelected={ids.has(output.id)}
            canSelect={mayWrite && output.status === 'available'}
            isSelecting={ids.size > 0 && output.status === 'available'}
            nowMs={nowMs}
            onToggle={toggle}
            onOpen={setOpenId}
          />
        ))}
      </ul>
      <Pages list={list} page={page} onPage={onPage} />
      <StorageViewer
        output={items[open]}
        mayWrite={mayWrite}
        nowMs={nowMs}
        onStep={(step) => setOpenId(items[(open + step + items.length) % items.length]?.id)}
        onPromote={(output) => promote([output])}
        onDelete={(output) => {
          setOpenId(undefined);
          remove([output]);
        }}
        onClose={() => setOpenId(undefined)}
      />
    </>
  );
}

function Pages({ list, page, onPage }: Pick<GalleryProps, 'list' | 'page' | 'onPage'>) {
  const pages = Math.ceil(list.total / STORAGE_PAGE_SIZE);
  if (pages <= 1 && page === 1) return null;
  return (
    <>
      <Center mt="lg" component="nav" aria-label={texts.pages}>
        <Pagination
          total={Math.max(pages, 1)}
          value={page}
          onChange={(next) => {
            onPage(next);
            window.scrollTo({ top: 0 });
          }}
          getItemProps={(each) => ({ 'aria-label': texts.page(each) })}
          getControlProps={(control) => ({ 'aria-label': texts.controls[control] })}
        />
      </Center>
      {list.totalIsCapped === true && page === pages ? (
        <Text size="sm" ta="center" mt="sm">
          {texts.cappedNote(list.total)}
        </Text>
      ) : null}
    </>
  );
}
