ALTER TABLE {database}.file_state
    COMMENT COLUMN status 'received, waiting, publishing, published, quarantined, duplicate; replaced where the source showed another state of the file before it was published';

ALTER TABLE {database}.file_load
    MODIFY COMMENT 'One current row for each file: how far it has come and where its rows went; without duplicates, and without those whose source showed another state of the file before it was published (replaced)';

ALTER TABLE {database}.file_arrival
    MODIFY COMMENT 'Every arrival of every file, duplicates too, and those that another state of the file has replaced before they were published';
