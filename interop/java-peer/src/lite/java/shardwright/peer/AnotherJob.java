package shardwright.peer;

/** The same by another name: ElasticJob tells jobs apart by their classes. */
public final class AnotherJob extends RecordingJob {

    AnotherJob(final Events events, final long length) {
        super(events, length);
    }
}
