"""What a fitted model does with rows: functions of a model and rows."""
