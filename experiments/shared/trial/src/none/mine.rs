// What a learner's file stands in for.
